"""The word lists behind ``variants``: pairs "variant representative" or whole families, split by commas."""

from __future__ import annotations

SPELLING = """
    ^centres$ centers, manoeuvre maneuver, connexion connection, normalise normalize, normalisation normalization,
    ionise ionize, ionising ionizing, centralised centralized, vocalisation vocalization, calibre caliber,
    haemo hemo, haema hema, haemi hemi, ^haem hem, anaem anem, aemia emia, aemic emic, hyperaem hyperem, ischaem
    ischem, anaesth anesth, aesthe esthe, ^aetio etio, ^caec cec, ^faec fec, ^foet fet, ^naev nev, ^paed ped,
    paediatr pediatr, orthopaed orthoped, gynaec gynec, caesar cesar, coeliac celiac, ^oedem edem, ooedem oedem,
    lymphoedem lymphedem, myxoedem myxedem, papilloedem papilledem, ^oesoph esoph, ooesoph oesoph, ^oestr estr,
    paenia penia, poenia penia, coele$ cele, praevia previa, ^laesion lesion, rrhoe rrhe, pnoea pnea, pnoeic pneic,
    homoeo homeo, manoeuv maneuv, palaeo paleo, praecox precox, coelomic celomic, leucocyt leukocyt, leucopen
    leukopen, leucoencephal leukoencephal, leucoderm leukoderm, leucodystroph leukodystroph, leuconychia
    leukonychia, leucocor leukocor, tumour tumor, colour color, behaviour behavior, odour odor, humour humor,
    ^labour labor, ^vapour vapor, ^favour favor, neighbour neighbor, sulph sulf, fibre fiber, ^centre$ center,
    centred$ centered, litre liter, metre meter, ^titre titer, goitre goiter, aluminium aluminum, ^grey gray, ^mould
    mold, ^disc$ disk, ^discs$ disks, artefact artifact, ^ageing$ aging, lysed$ lyzed, labelled labeled, signalling
    signaling, ^programme program, ^defence defense, generalis generaliz, localised localized, localisation
    localization, specialis specializ, visualis visualiz, hospitalis hospitaliz, immunis immuniz, mineralis
    mineraliz, characterise characterize, organise organize, organising organizing, organisation organization,
    recognis recogniz, keratinis keratiniz, vascularis vasculariz, lateralised lateralized, lateralisation
    lateralization, myelinis myeliniz, synchronis synchroniz, sensitis sensitiz, stabilis stabiliz, metabolise
    metabolize, oxidis oxidiz, sterilis steriliz, pressuris pressuriz
"""
"""British -> American. Stems long enough to be unmistakable count anywhere in a word; "^" ties one to the beginning,
"$" to the end. A word that merely contains "ae" or "oe" (aerobic, Israel, phoenix) has no entry and stays."""

PLURALS = """
    crises crisis, noses nose, doses dose, roses rose, foci focus, villi villus, gyri gyrus, loci locus,
    exercises exercise, rises rise, uses use, teeth tooth, feet foot, men man, women woman, children child, mice mouse,
    lice louse, metastases metastasis, prostheses prosthesis, phalanges phalanx, testes testis, testicles testis,
    testicle testis, iris iris, irides iris, cortices cortex, indices index, calices calyx, calyces calyx, helices
    helix, varices varix, cervices cervix, appendices appendix, matrices matrix, apices apex, vertices vertex, foramina
    foramen, lumina lumen, stigmata stigma, stomata stoma, carcinomata carcinoma, fibromata fibroma, neuromata neuroma,
    condylomata condyloma, diverticula diverticulum, septa septum, ova ovum, ganglia ganglion, bacteria bacterium,
    criteria criterion, phenomena phenomenon, mitochondria mitochondrion, spermatozoa spermatozoon, atria atrium, crania
    cranium, media media, nevi nevus, bronchi bronchus, thrombi thrombus, emboli embolus, calculi calculus, fundi
    fundus, nuclei nucleus, stimuli stimulus, canthi canthus, humeri humerus, femora femur, halluces hallux,
    comedones comedo, meninges meninx, nares naris, epiphyses epiphysis, diaphyses diaphysis, pelves pelvis,
    metaphyses metaphysis, menses menses, caries caries, feces feces, series series, species species, herpes herpes,
    rabies rabies, scabies scabies, facies facies, biceps biceps, triceps triceps, quadriceps quadriceps, forceps
    forceps, gas gas, lens lens, pancreas pancreas, diabetes diabetes, ascites ascites, rickets rickets, lenses
    lens, leaves leaf, calves calf, knives knife, halves half, lives life, axes axis, abscesses abscess, thighs
    thigh
"""
"""Plurals that no ending gives away, and words that only look like plurals."""

NUMERALS = "i 1, ii 2, iii 3, iv 4, v 5, vi 6, vii 7, viii 8, ix 9, xi 11, xii 12, xiii 13"
"""Roman numerals as they name types, grades, factors and nerves; "x" is left out: it is a chromosome."""

ENDINGS = """
    plastic plas, plasia plas, trophic troph, trophy troph, trophied troph, otic os, osis os, osed os, emic em, emia
    em, uric ur, uria ur, tensive tens, tension tens, itic it, itis it, ality al, ically ic, ification if, ified if,
    ization iz, ized iz, ectatic ectas, ectasia ectas, ectasis ectas, ation, ated, ating, ate, ition it, ional, ion,
    ive, ment, ness, ical, ally al, ity, ism, istic, ous, ic, ia, al, ar, ed, ing, ly, y, e
"""
"""What derivation strips from a word, and what it leaves instead; the longest that fits counts."""

UNDERIVED = """
    chorionic septic limbic limbal extreme extremity complement lactation radiation positive microsomal microsome globe
    anomia anomic bell bull capital carbon colony cushing dollar even evening fishy general later malar malaria
    meaning medical mention over party plane plant several signal
"""
"""Words whose stem would be another word's."""

FAMILIES = """
    abnormal abnormality anomaly anomalous malformation malformed defect defective deformity deformed, kidney renal,
    heart cardiac, liver hepatic, lung pulmonary, eye ocular ophthalmic, skin cutaneous dermal, ear auricular otic,
    nose nasal, mouth oral, tongue lingual, tooth dental, jaw mandible mandibular, maxilla maxillary, palate
    palatal, lip labial, face facial, skull cranial cranium, spine spinal, vertebra vertebral, rib costal, clavicle
    clavicular, patella patellar kneecap, nail ungual, scapula scapular, humerus humeral, femur femoral, tibia
    tibial, fibula fibular, ulna ulnar, radius radial, pelvis pelvic, sternum sternal, finger digit digital, limb
    extremity, muscle muscular, vein venous, artery arterial, aorta aortic, vessel vascular, retina retinal, cornea
    corneal, lens lenticular, larynx laryngeal, pharynx pharyngeal, trachea tracheal, esophagus esophageal, stomach
    gastric, intestine intestinal bowel, colon colonic, rectum rectal, bladder vesical, ureter ureteral, urethra
    urethral, uterus uterine, ovary ovarian, testis testicular, penis penile, thyroid thyroidal, bone osseous, nerve
    neural, breast mammary, tumor neoplasm neoplasia neoplastic, multiple numerous many, broad wide widened
    broadened, short shortened shortening, absent absence lack lacking missing agenesis, enlarged enlargement large,
    increased elevated raised high, decreased reduced low diminished, delayed delay retarded retardation, impaired
    impairment, loss lost, thin thinned thinning, thick thickened thickening, premature early preterm, prominent
    prominence, downslanting downslanted, upslanting upslanted, recurrent repeated, mental intellectual, occult
    occulta, infant infantile, neonate neonatal newborn, child childhood, atrophy atrophic wasting wasted
"""
"""Words that name the same organ or say the same of it, as inflected tokens."""

STOP_WORDS = """
    an as at by for from in into is its of on s than that the their this to was were with
"""
"""Words that a change of word order may drop or add. Not "a" (vitamin A), not "without" or "no" (the opposite), not
"and" or "or" (they join two findings)."""

ADJECTIVES = """
    small large big short long broad wide narrow thick thin high low deep mild moderate severe left right upper lower
    early late slow fast dry pale soft hard weak flat round full poor
"""
"""Adjectives that no ending gives away."""

PREFIXES = """
    anti bi co de extra hemi hyper hypo infra inter intra macro micro mid multi non over para peri poly post pre
    pseudo re retro semi sub super supra tetra trans tri ultra under uni
"""
"""Beginnings that are written with a hyphen, apart, or together: "pre-auricular", "preauricular"."""

LAY_TERMS = """
    dyspnea: breathlessness; shortness of breath; short of breath; difficulty breathing; trouble breathing, tachypnea:
    fast breathing, apnea: pauses in breathing, hemoptysis: coughing up blood, rhinorrhea: runny nose, nasal congestion:
    stuffy nose; blocked nose, epistaxis: nosebleed; nose bleed, pharyngitis: throat infection, sinusitis: sinus
    infection, aphonia: loss of voice, allergic rhinitis: hay fever, pertussis: whooping cough, influenza: flu,
    hypertension: high blood pressure, hypotension: low blood pressure, tachycardia: fast heartbeat; rapid heartbeat;
    racing heart; fast heart rate; rapid heart rate, bradycardia: slow heartbeat; slow heart rate, arrhythmia: irregular
    heartbeat; irregular heart beat, myocardial infarction: heart attack, syncope: fainting; passing out, thrombosis:
    blood clot, edema: fluid retention, cardiomegaly: enlarged heart, telangiectasia: spider vein, pallor: paleness,
    cyanosis: blue skin; bluish skin, jaundice: yellow skin; yellowing of the skin, ecchymosis: bruise; bruising,
    thrombocytopenia: low platelets; low platelet count, hyperglycemia: high blood sugar, hypoglycemia: low blood sugar,
    hypercholesterolemia: high cholesterol, lymphadenopathy: swollen lymph nodes; swollen glands; enlarged lymph nodes,
    hepatomegaly: enlarged liver, splenomegaly: enlarged spleen, fever: high temperature; raised temperature, fatigue:
    tiredness; exhaustion, somnolence: sleepiness; drowsiness, insomnia: sleeplessness, polydipsia: excessive thirst,
    polyphagia: excessive hunger, pruritus: itching; itchiness; itchy skin, alopecia: hair loss, urticaria: hives,
    xerosis: dry skin, erythema: skin redness, hyperhidrosis: excessive sweating, anhidrosis: inability to sweat,
    verruca: wart, herpes zoster: shingles, varicella: chickenpox; chicken pox, rubella: german measles, tinea pedis:
    athlete s foot, onychomycosis: nail fungus, pediculosis: head lice, vomiting: throwing up, nausea: queasiness,
    dyspepsia: indigestion, pyrosis: heartburn, eructation: belching; burping, singultus: hiccup, diarrhea: loose
    stools; watery stools, melena: black stool; tarry stool, hematemesis: vomiting blood, dysphagia: difficulty
    swallowing; trouble swallowing, odynophagia: painful swallowing, halitosis: bad breath, cholelithiasis: gallstone,
    fecal incontinence: loss of bowel control, xerostomia: dry mouth, sialorrhea: drooling, oral ulcer: mouth sore;
    mouth ulcer, aphthous ulcer: canker sore, gingivitis: inflamed gums; gum inflammation, dental caries: tooth decay,
    bruxism: tooth grinding, hematuria: blood in urine; bloody urine, dysuria: painful urination; pain on urination;
    burning urination, polyuria: excessive urination, pollakisuria: frequent urination, enuresis: bedwetting; bed
    wetting, urinary incontinence: loss of bladder control, nephrolithiasis: kidney stone, pyelonephritis: kidney
    infection, cystitis: bladder infection, dysmenorrhea: painful periods; period pain, menorrhagia: heavy periods;
    heavy menstrual bleeding, amenorrhea: absent periods; missed periods, spontaneous abortion: miscarriage,
    cryptorchidism: undescended testicle, galactorrhea: milky nipple discharge, myalgia: muscle pain; muscle ache; sore
    muscles, arthralgia: joint pain; joint ache; sore joints, otalgia: earache; ear pain, headache: head pain,
    arthritis: joint inflammation, hypotonia: floppiness; low muscle tone, hypertonia: high muscle tone, seizure:
    convulsion, tremor: shakiness, paresthesia: tingling; pins and needles, hypoesthesia: numbness, amnesia: memory
    loss; loss of memory, anosmia: loss of smell; loss of sense of smell, ageusia: loss of taste; loss of sense of
    taste, vertigo: spinning sensation, tinnitus: ringing in the ears; ear ringing, hyperacusis: sensitivity to sound,
    photophobia: light sensitivity; sensitivity to light, diplopia: double vision, myopia: nearsightedness;
    shortsightedness; short sightedness, hypermetropia: farsightedness; far sightedness; long sightedness, strabismus:
    squint; crossed eyes, amblyopia: lazy eye, ptosis: drooping eyelid; droopy eyelid, proptosis: bulging eye,
    nyctalopia: night blindness, conjunctivitis: pink eye; pinkeye, epiphora: watery eyes, keratoconjunctivitis sicca:
    dry eye, hypertelorism: widely spaced eyes; wide set eyes, hypotelorism: closely spaced eyes; close set eyes,
    microcephaly: small head, macrocephaly: large head; big head, micrognathia: small jaw, macroglossia: large tongue,
    pes planus: flat feet, talipes equinovarus: clubfoot; club foot, genu valgum: knock knees, kyphosis: hunchback,
    pectus excavatum: funnel chest; sunken chest, pectus carinatum: pigeon chest, infectious mononucleosis: glandular
    fever, osteogenesis imperfecta: brittle bone disease
"""
"""Clinical terms, and what people who are no clinicians call them. A name that has the clinical term is found by the
other one too, "breathlessness on exertion" as "Dyspnea on exertion", and not the other way round. What HPO holds to be
two findings ("slurred speech" and dysarthria, "loss of appetite" and anorexia) is not here."""
